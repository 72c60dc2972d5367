-- Figures: 1 to forget all permits by name, whose identities are below 2^63, and 0 to give one back;
-- its identity. Reports the units that are held.
back.p = function(value, arg)
  local forgets = struct.unpack('<I8', arg, 2)
  local first, last, held, entries = permits_read(value)
  if not first then return end
  first, last, held, entries = permits_live(first, last, held, entries)
  local found = false
  if forgets == 1 then
    first, last, held, entries = permits_keep(entries, function(_, id) return string.byte(id) >= 128 end)
    found = true
  else
    local units
    entries, units = permits_without(entries, string.sub(arg, 10))
    if units then found, held = true, held - units end
  end
  local report = string.format('%.0f', held)
  if held == 0 then return found, nil, nil, report end
  return found, permits_text(first, last, held, entries), last, report
end
