-- Charges all buckets, or none if one refuses, where some had another rate before: 'm' stands before such
-- a bucket, with the name that it had then. If only the former one holds something, it has to be brought
-- over first: nothing is charged, and both are reported.
local seen, admits, next, ends, former = {}, {}, {}, {}, nil
local all = true
for i = 1, #KEYS do
  local value, alien = get(KEYS[i])
  local kind = string.sub(ARGV[i], 1, 1)
  if kind == 'm' then
    former = former or value
    admits[i], seen[i] = true, value or false
  elseif former and not value and not alien then
    admits[i], seen[i] = false, false
  elseif not alien then
    local report
    admits[i], next[i], ends[i], report = charge[kind](value, ARGV[i])
    seen[i] = report or value
  end
  if kind ~= 'm' then former = nil end
  if admits[i] == nil then seen[i] = 0 end
  all = all and admits[i]
end
for i = 1, #KEYS do
  if next[i] and (all or admits[i] == false) then keep(KEYS[i], next[i], ends[i]) end
end
return {now, all and 1 or 0, unpack(seen, 1, #KEYS)}
