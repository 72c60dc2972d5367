-- The time, in ticks of one microsecond, by the server's clock; and how a value is kept: until the
-- tick at which it says no more than no value would, and never without an end.
local clock = redis.call('TIME')
local now = math.min(clock[1] * 1000000 + clock[2], 3872879627370495)
local function keep(key, value, tick)
  redis.call('SET', key, value, 'PXAT', string.format('%d', math.ceil(tick / 1000)))
end
