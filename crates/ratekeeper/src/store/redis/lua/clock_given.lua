-- The time of a test, which is the last argument. The server's clock runs on by itself, so values are
-- kept for long.
local now = tonumber(ARGV[#ARGV])
local function keep(key, value)
  redis.call('SET', key, value, 'PX', 600000)
end
