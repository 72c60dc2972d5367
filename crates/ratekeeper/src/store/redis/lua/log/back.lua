-- Figures: amount, period; 1 to settle and 0 to give back; units held, units used, and the time of the
-- entry. Reports as a charge does. Only the entries behind a change are written anew.
local function log_result(before, entries, time, units, period)
  local report = string.format('%d:%d', units, time)
  if units == 0 then return true, nil, nil, report end
  return true, log_text(before, entries), time + period, report
end

-- Gives the newest units back.
local function log_refund(value, count, first, before, used, units, period)
  local rest = math.max(0, used - units)
  if rest == 0 then return log_result(0, '', 0, 0, period) end
  local last = log_first(value, first, count, function(_, total) return log_units(before, total) >= rest end)
  local time = log_entry(value, last)
  local entry = struct.pack('>I7I3', time, math.fmod(before + rest, 16777216))
  return log_result(before, log_part(value, first, last - 1) .. entry, time, rest, period)
end

-- Adds units at a time, or, below zero, takes them off the entry of that very time.
local function log_change(value, count, first, before, used, time, units, period)
  local at = log_first(value, first, count, function(entry) return entry >= time end)
  local _, total = nil, before
  if at > first then _, total = log_entry(value, at - 1) end
  local parts, last = {log_part(value, first, at - 1)}, at > first and log_entry(value, at - 1) or 0
  local own, next = 0, at
  if at <= count and log_entry(value, at) == time then
    local _, sum = log_entry(value, at)
    own, next = log_units(total, sum), at + 1
  end
  units = math.max(units, -own)
  if own + units > 0 then
    parts[2], last = struct.pack('>I7I3', time, math.fmod(total + own + units, 16777216)), time
  end
  for i = next, count do
    local entry, sum = log_entry(value, i)
    parts[#parts + 1] = struct.pack('>I7I3', entry, math.fmod(sum + units + 16777216, 16777216))
    last = entry
  end
  return log_result(before, table.concat(parts), last, used + units, period)
end

back.l = function(value, arg)
  local amount, period, settles, held, actual, time = struct.unpack('<I8I8I8I8I8I8', arg, 2)
  local count = log_read(value)
  if not count then return end
  local first, before, used, _, _, at, mended = log_live(value, count, period)
  if mended then value, count = mended, 1 end
  if settles == 0 then return log_refund(value, count, first, before, used, held, period) end
  if held == 0 then time = at end
  local units = at - time < period and settled(used, held, actual, amount) - used or 0
  return log_change(value, count, first, before, used, time, units, period)
end
