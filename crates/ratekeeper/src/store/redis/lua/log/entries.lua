-- Looks at a log: the time, and of its value the first byte, then the newest entries, as many as are asked
-- for at most, behind the units before them.
local value, alien = get(KEYS[1])
if alien then return {now, 0} end
if not value then return {now, false} end
local from = math.max(2, #value - 10 * tonumber(ARGV[1]) - 2)
return {now, string.sub(value, 1, 1) .. string.sub(value, from)}
