-- Figures: cost, amount, how long a permit is held, its identity. One that is there already is renewed,
-- whatever the amount is now. Reports the units that others hold.
charge.p = function(value, arg)
  local cost, amount, hold = struct.unpack('<I8I8I8', arg, 2)
  local held, entries = permits_read(value)
  if not held then return end
  held, entries = permits_live(held, entries)
  local id = string.sub(arg, 26)
  local others, units = permits_without(entries, id)
  held = held - (units or 0)
  local report = string.format('%d', held)
  if cost == 0 then return true, nil, nil, report end
  if not units and cost > amount - held then return false, nil, nil, report end
  entries = permits_with(others, now + turn + hold, cost, id)
  return true, permits_text(held + cost, entries), permits_end(entries), report
end
