-- Permits: '1' and the units that are held (7 bytes); then entries of an end (7 bytes), units (6 bytes)
-- and an identity (8 bytes), those that end first in front.
local function permits_read(value)
  if not value then return 0, '' end
  if string.sub(value, 1, 1) ~= '1' or #value < 29 or math.fmod(#value - 8, 21) ~= 0 then return end
  return struct.unpack('>I7', value, 2), string.sub(value, 9)
end

local function permits_text(held, entries)
  return '1' .. struct.pack('>I7', held) .. entries
end

-- The units that have not ended, and their entries.
local function permits_live(held, entries)
  local from = 1
  while from < #entries do
    local tick, units = struct.unpack('>I7I6', entries, from)
    if tick > now then break end
    held, from = held - units, from + 21
  end
  return held, from > 1 and string.sub(entries, from) or entries
end

-- The entries without that of an identity, and its units; none if it is not there.
local function permits_without(entries, id)
  local from = 1
  while true do
    local at = string.find(entries, id, from, true)
    if not at then return entries end
    if math.fmod(at - 14, 21) == 0 then
      local units = struct.unpack('>I6', entries, at - 6)
      return string.sub(entries, 1, at - 14) .. string.sub(entries, at + 8), units
    end
    from = at + 1
  end
end

-- The entries with one more, behind those that end no later.
local function permits_with(entries, tick, units, id)
  local from, to = 0, #entries / 21
  while from < to do
    local middle = math.floor((from + to) / 2)
    if struct.unpack('>I7', entries, 21 * middle + 1) <= tick then from = middle + 1 else to = middle end
  end
  local entry = struct.pack('>I7I6', tick, units) .. id
  return string.sub(entries, 1, 21 * from) .. entry .. string.sub(entries, 21 * from + 1)
end

-- When the last one ends.
local function permits_end(entries)
  return (struct.unpack('>I7', entries, #entries - 20))
end
