-- A bucket holds when it will be whole: '1<tick>', or '1<tick>:<part>' where its units take parts of
-- a tick. The former is a whole number to the server, which keeps it without a string.
local function bucket_read(value, drain)
  if not value then return 0, 0 end
  local tick, part = tonumber(string.match(value, '^1(%d+)$')), 0
  if not tick then
    tick, part = string.match(value, '^1(%d+):(%d+)$')
    tick, part = tonumber(tick), tonumber(part)
  end
  if tick and tick < 4503599627370496 and part < drain then return tick, part end
end

-- What to keep of a bucket that is so far ahead of the clock, and until when.
local function bucket_next(ahead, part)
  local tick = now + ahead
  if part == 0 then return string.format('1%d', tick), tick end
  return string.format('1%d:%d', tick, part), tick + 1
end

-- How long a burst and a debt of one more take to drain.
local function bucket_most(full, full_part, drain)
  if 2 * full_part >= drain then return 2 * full + 1, 2 * full_part - drain end
  return 2 * full, 2 * full_part
end

-- How far ahead of the clock it is: not at all if it is whole. More than a burst and a debt is what a
-- server with a larger burst may have left; so much more that none would, is what a clock that went
-- back left: that counts as a burst and a debt, and true is returned, too.
local function bucket_ahead(tick, part, full, full_part, drain)
  if tick < now then return 0, 0 end
  if tick - now > 16 * full + 60000000 then
    local most, most_part = bucket_most(full, full_part, drain)
    return most, most_part, true
  end
  return tick - now, part
end
