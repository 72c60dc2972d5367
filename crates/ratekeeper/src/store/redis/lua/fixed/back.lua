-- Figures: amount, period; 1 to settle and 0 to give back; units held, units used, and the window.
back.f = function(value, arg)
  local amount, period, settles, held, used, at = struct.unpack('<I8I8I8I8I8I8', arg, 2)
  local index, count = fixed_read(value)
  if not index then return end
  index, count = fixed_roll(index, count, period)
  if settles == 0 or index == at or held == 0 then count = settled(count, held, used, amount) end
  if count == 0 then return true end
  return true, fixed_text(index, count), (index + 1) * period
end
