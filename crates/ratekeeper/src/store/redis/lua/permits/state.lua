-- Permits: '1', the earliest end or an earlier time, the latest end or a later one, and the units that
-- are held (7 bytes each); then entries of an end (7 bytes), units (6 bytes) and an identity (8 bytes).
local function permits_read(value)
  if not value then return 9007199254740991, 0, 0, '' end
  if string.sub(value, 1, 1) ~= '1' or #value < 43 or math.fmod(#value - 22, 21) ~= 0 then return end
  local first, last, held = struct.unpack('>I7I7I7', value, 2)
  return first, last, held, string.sub(value, 23)
end

local function permits_text(first, last, held, entries)
  return '1' .. struct.pack('>I7I7I7', first, last, held) .. entries
end

-- Goes over all entries, and keeps those that `keeps` says to.
local function permits_keep(entries, keeps)
  local kept, first, last, held = {}, 9007199254740991, 0, 0
  for i = 1, #entries, 21 do
    local tick, units = struct.unpack('>I7I6', entries, i)
    local entry = string.sub(entries, i, i + 20)
    if keeps(tick, string.sub(entry, 14)) then
      kept[#kept + 1] = entry
      first, last, held = math.min(first, tick), math.max(last, tick), held + units
    end
  end
  return first, last, held, table.concat(kept)
end

-- Those that have not ended.
local function permits_live(first, last, held, entries)
  if first > now then return first, last, held, entries end
  return permits_keep(entries, function(tick) return tick > now end)
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
