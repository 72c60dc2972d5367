-- Figures: amount, period; 1 to settle and 0 to give back; units held, units used, and the window.
back.c = function(value, arg)
  local amount, period, settles, held, used, at = struct.unpack('<I8I8I8I8I8I8', arg, 2)
  local index, current, previous = counter_read(value)
  if not index then return end
  index, current, previous = counter_roll(index, current, previous, period)
  if settles == 0 then
    local rest = math.max(0, held - current)
    current, previous = math.max(0, current - held), math.max(0, previous - rest)
  elseif index == at or held == 0 then
    current = settled(current, held, used, amount)
  elseif index == at + 1 then
    previous = settled(previous, held, used, amount)
  end
  if current == 0 and previous == 0 then return true end
  return true, counter_text(index, current, previous), (index + (current > 0 and 2 or 1)) * period
end
