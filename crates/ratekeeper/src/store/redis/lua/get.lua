-- What a key holds; nothing, and true, if it is something that is not a string.
local function get(key)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'table' then return value end
  if string.find(value.err, 'WRONGTYPE', 1, true) then return nil, true end
  error(value)
end
