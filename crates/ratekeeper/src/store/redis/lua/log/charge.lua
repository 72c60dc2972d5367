-- Figures: cost, amount, period, and 1 to look without charging. Reports the units that count, the
-- newest entry's time, and the time of the entry that has to go before the cost fits; or, if it does or
-- never will, before there is more than what remains.
charge.l = function(value, arg)
  local cost, amount, period, looks = struct.unpack('<I8I8I8I8', arg, 2)
  local count = log_read(value)
  if not count then return end
  local first, before, used, newest, total, at, mended = log_live(value, count, period)
  if mended then value, count = mended, 1 end
  local fits = cost == 0 or cost <= amount - used
  local excess = used - amount + ((fits or cost > amount) and 1 or cost)
  local goes = excess <= 1 and first or log_first(value, first, count, function(_, units)
    return log_units(before, units) >= excess
  end)
  local report = string.format('%d:%d:%d', used, newest, goes <= count and log_entry(value, goes) or 0)
  if cost == 0 then return true, nil, nil, report end
  if not fits then return false, mended, at + period, report end
  if looks == 1 then return true, nil, nil, report end
  -- Requests of the same tick share an entry.
  local last = used > 0 and newest == at and count - 1 or count
  local entries = log_part(value, first, last)
  return true, log_text(before, entries, at, total + cost), at + period, report
end
