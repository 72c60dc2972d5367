-- KEYS: the board. ARGV: the text's name, `read` and the number that is known; or `write`, the number that is to be
-- there, the next number, the text, and the channel on which it is told.
local name = ARGV[1]
local number = tonumber(redis.call('HGET', KEYS[1], 'n:' .. name) or '0')
-- One that none of us has written is -1, which whoever has seen it can replace.
if not number or number < 0 or number > 4503599627370496 or number % 1 ~= 0 then
  number = -1
end
if number ~= tonumber(ARGV[3]) and ARGV[2] == 'write' then
  return {number, false}
end
if ARGV[2] == 'read' then
  return {number, number ~= tonumber(ARGV[3]) and redis.call('HGET', KEYS[1], 't:' .. name)}
end
redis.call('HSET', KEYS[1], 'n:' .. name, ARGV[4], 't:' .. name, ARGV[5])
-- Who may not publish is heard a little later: everyone looks by itself, too.
redis.pcall('PUBLISH', ARGV[6], name)
return {tonumber(ARGV[4]), ''}
