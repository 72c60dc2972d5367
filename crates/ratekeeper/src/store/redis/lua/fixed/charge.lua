-- Figures: cost, amount, period.
charge.f = function(value, arg)
  local cost, amount, period = struct.unpack('<I8I8I8', arg, 2)
  local index, count = fixed_read(value)
  if not index then return end
  local report
  index, count, report = fixed_roll(index, count, period)
  if cost == 0 then return true, nil, nil, report end
  if cost > amount - count then return false, report, (index + 1) * period, report end
  return true, fixed_text(index, count + cost), (index + 1) * period, report
end
