-- A window holds its number since the epoch and a count: '1' and 5 and 3 bytes, or '2' and 6 and 6.
local function fixed_read(value)
  if not value then return 0, 0 end
  local form = string.sub(value, 1, 1)
  if form == '1' and #value == 9 then return struct.unpack('>I5I3', value, 2) end
  if form == '2' and #value == 13 then return struct.unpack('>I6I6', value, 2) end
end

local function fixed_text(index, count)
  if index < 1099511627776 and count < 16777216 then return '1' .. struct.pack('>I5I3', index, count) end
  return '2' .. struct.pack('>I6I6', index, count)
end

-- The window at this time, which is never before the one that was charged last; unless that is not even
-- the next one, since the clock went back: then what was counted in it counts in this one. What to report
-- then is returned, too.
local function fixed_roll(index, count, period)
  local present = (now - math.fmod(now, period)) / period
  if present > index then return present, 0 end
  if index > present + 1 then return present, count, fixed_text(present, count) end
  return index, count
end
