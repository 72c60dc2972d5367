-- Figures: amount, period; 1 to settle and 0 to give back; units held, units used, and the time of the
-- entry. Reports as a charge does.
back.l = function(value, arg)
  local amount, period, settles, held, used, time = struct.unpack('<I8I8I8I8I8I8', arg, 2)
  local count = log_read(value)
  if not count then return end
  local first, before, units, newest, total, at = log_live(value, count, period)
  local times, costs = {}, {}
  local former = before
  for i = first, count do
    local entry, sum = log_entry(value, i)
    times[#times + 1], costs[#costs + 1] = entry, math.fmod(sum - former + 16777216, 16777216)
    former = sum
  end
  local function add(spot, more)
    local i = 1
    while times[i] and times[i] < spot do i = i + 1 end
    if times[i] ~= spot then
      if more <= 0 then return end
      table.insert(times, i, spot)
      table.insert(costs, i, 0)
    end
    costs[i] = math.max(0, costs[i] + more)
  end
  if settles == 0 then
    local i = #costs
    while held > 0 and i > 0 do
      local taken = math.min(held, costs[i])
      costs[i], held, i = costs[i] - taken, held - taken, i - 1
    end
  else
    if held == 0 then time = at end
    if at - time < period then add(time, settled(units, held, used, amount) - units) end
  end
  local entries, sum, last = {}, 0, 0
  for i = 1, #times do
    if costs[i] > 0 then
      sum, last = sum + costs[i], times[i]
      entries[#entries + 1] = struct.pack('>I7I3', last, sum)
    end
  end
  local report = string.format('%.0f:%.0f', sum, last)
  if sum == 0 then return true, nil, nil, report end
  return true, log_text(0, table.concat(entries)), last + period, report
end
