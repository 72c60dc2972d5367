-- A log holds '1', the units before its first entry (3 bytes), and entries of a time (7 bytes) and the
-- units up to and with it (3 bytes), oldest first. Units are counted modulo 2^24, so that what lies
-- between two entries is found without a walk.
local function log_entry(value, i)
  return struct.unpack('>I7I3', value, 10 * i - 5)
end

-- How many entries there are.
local function log_read(value)
  if not value then return 0 end
  local count = (#value - 4) / 10
  if string.sub(value, 1, 1) == '1' and count >= 1 and count == math.floor(count) then return count end
end

-- The first of entries `from` to `to` for which `is` holds, which then holds for all that follow; one
-- beyond them if there is none.
local function log_first(value, from, to, is)
  to = to + 1
  while from < to do
    local middle = math.floor((from + to) / 2)
    if is(log_entry(value, middle)) then to = middle else from = middle + 1 end
  end
  return from
end

local function log_text(before, entries, time, total)
  local last = time and struct.pack('>I7I3', time, math.fmod(total, 16777216)) or ''
  return '1' .. struct.pack('>I3', before) .. entries .. last
end

-- Entries `from` to `to`, as they are.
local function log_part(value, from, to)
  return string.sub(value or '', 10 * from - 5, 10 * to + 4)
end

-- The units between two totals.
local function log_units(before, total)
  return math.fmod(total - before + 16777216, 16777216)
end

-- The first entry that still counts, the units before it, all units that count, the newest entry's time
-- and total, and the time to go by: a clock that went back stands at the newest entry. If it went back by
-- more than a period, all that counts was now, and the value to keep is returned, too.
local function log_live(value, count, period)
  if count == 0 then return 1, 0, 0, 0, 0, now end
  local newest, total = log_entry(value, count)
  local at = math.max(now, newest)
  local first = log_first(value, 1, count, function(time) return at - time < period end)
  local _, before = nil, struct.unpack('>I3', value, 2)
  if first > 1 then _, before = log_entry(value, first - 1) end
  local used = log_units(before, total)
  if newest - now > period then return 1, 0, used, now, used, now, log_text(0, '', now, used) end
  return first, before, used, newest, total, at
end
