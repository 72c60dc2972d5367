-- A bucket holds when it will be whole: '1<tick>', or '1<tick>:<part>' where its units take parts of
-- a tick. The former is a whole number to the server, which keeps it without a string.
local function bucket_read(value)
  if not value then return 0, 0 end
  local tick, part = string.match(value, '^1(%d+):?(%d*)$')
  tick, part = tonumber(tick), part == '' and 0 or tonumber(part)
  if tick and tick < 4503599627370496 and part < 4503599627370496 then return tick, part end
end

-- What to keep of a bucket that is so far ahead of the clock, and until when.
local function bucket_next(ahead, part)
  local tick = now + ahead
  if part == 0 then return string.format('1%.0f', tick), tick end
  return string.format('1%.0f:%.0f', tick, part), tick + 1
end

-- How far ahead of the clock it is: not at all if it is whole, and at most two full buckets, which is
-- a burst and a debt of one more. Says also whether it was beyond.
local function bucket_ahead(tick, part, full, full_part, drain)
  if tick < now then return 0, 0, false end
  local most, most_part = 2 * full, 2 * full_part
  if most_part >= drain then most, most_part = most + 1, most_part - drain end
  local ahead = tick - now
  if ahead > most or (ahead == most and part > most_part) then return most, most_part, true end
  return ahead, part, false
end
