-- Whether a * b <= c * d. Beyond what a number holds exactly, the products are made of parts of 26
-- bits.
local function at_most(a, b, c, d)
  if a * b < 9007199254740992 and c * d < 9007199254740992 then return a * b <= c * d end
  local function parts(x, y)
    local x0, y0 = math.fmod(x, 67108864), math.fmod(y, 67108864)
    local x1, y1 = (x - x0) / 67108864, (y - y0) / 67108864
    local low = x0 * y0
    local rest = math.fmod(low, 67108864)
    local middle = x1 * y0 + x0 * y1 + (low - rest) / 67108864
    local centre = math.fmod(middle, 67108864)
    return x1 * y1 + (middle - centre) / 67108864, centre, rest
  end
  local high, middle, low = parts(a, b)
  local other_high, other_middle, other_low = parts(c, d)
  if high ~= other_high then return high < other_high end
  if middle ~= other_middle then return middle < other_middle end
  return low <= other_low
end

-- Figures: cost, amount, period.
charge.c = function(value, arg)
  local cost, amount, period = struct.unpack('<I8I8I8', arg, 2)
  local index, current, previous = counter_read(value)
  if not index then return end
  local over, report
  index, current, previous, over, report = counter_roll(index, current, previous, period)
  if cost == 0 then return true, nil, nil, report end
  local spare = amount - current - cost
  if spare < 0 or not at_most(previous, period - over, spare, period) then
    return false, report, (index + 2) * period, report
  end
  return true, counter_text(index, current + cost, previous), (index + 2) * period, report
end
