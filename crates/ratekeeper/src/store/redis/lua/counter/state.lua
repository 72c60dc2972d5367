-- Two windows hold the number of the current one and both counts: '1' and 5, 3 and 3 bytes, or '2' and
-- 6 bytes each.
local function counter_read(value)
  if not value then return 0, 0, 0 end
  local form = string.sub(value, 1, 1)
  if form == '1' and #value == 12 then return struct.unpack('>I5I3I3', value, 2) end
  if form == '2' and #value == 19 then return struct.unpack('>I6I6I6', value, 2) end
end

local function counter_text(index, current, previous)
  if index < 1099511627776 and current < 16777216 and previous < 16777216 then
    return '1' .. struct.pack('>I5I3I3', index, current, previous)
  end
  return '2' .. struct.pack('>I6I6I6', index, current, previous)
end

-- The windows at this time, and how much of the current one is over. If the clock went back by more than
-- a window, the counts are those of this one; what to report then is returned, too.
local function counter_roll(index, current, previous, period)
  local over = math.fmod(now, period)
  local present = (now - over) / period
  if index > present + 1 then
    return present, current, previous, over, counter_text(present, current, previous)
  end
  if present < index then return index, current, previous, 0 end
  if present == index then return index, current, previous, over end
  if present == index + 1 then return present, 0, current, over end
  return present, 0, 0, over
end
