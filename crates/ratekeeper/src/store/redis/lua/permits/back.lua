-- Figures: 1 to forget all permits by name, whose identities are below 2^63, and 0 to give one back;
-- its identity. Reports the units that are held.
back.p = function(value, arg)
  local forgets = struct.unpack('<I8', arg, 2)
  local held, entries = permits_read(value)
  if not held then return end
  held, entries = permits_live(held, entries)
  local found = false
  if forgets == 1 then
    local kept = {}
    for i = 1, #entries, 21 do
      local entry = string.sub(entries, i, i + 20)
      if string.byte(entry, 14) >= 128 then
        kept[#kept + 1] = entry
      else
        held, found = held - struct.unpack('>I6', entry, 8), true
      end
    end
    entries = table.concat(kept)
  else
    local units
    entries, units = permits_without(entries, string.sub(arg, 10))
    if units then found, held = true, held - units end
  end
  local report = string.format('%d', held)
  if entries == '' then return found, nil, nil, report end
  return found, permits_text(held, entries), permits_end(entries), report
end
