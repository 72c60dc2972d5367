-- Figures: cost, amount, how long a permit is held, its identity. One that is there already is renewed.
-- Reports the units that others hold.
charge.p = function(value, arg)
  local cost, amount, hold = struct.unpack('<I8I8I8', arg, 2)
  local first, last, held, entries = permits_read(value)
  if not first then return end
  first, last, held, entries = permits_live(first, last, held, entries)
  local id = string.sub(arg, 26)
  local others, units = permits_without(entries, id)
  held = held - (units or 0)
  local report = string.format('%.0f', held)
  if cost == 0 then return true, nil, nil, report end
  if cost > amount - held then return false, nil, nil, report end
  local tick = now + turn + hold
  first, last = math.min(first, tick), math.max(last, tick)
  local entry = struct.pack('>I7I6', tick, cost) .. id
  return true, permits_text(first, last, held + cost, others .. entry), last, report
end
