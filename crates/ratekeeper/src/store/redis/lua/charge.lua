-- Charges all buckets, or none if one refuses. KEYS[i] is a bucket, ARGV[i] its kind and figures.
-- A kind's charge returns nothing if the value is not one of ours; else whether it admits, and if
-- there is something to keep, the value, the tick until which it matters, and what to report instead
-- of the former value. Answers with the time, whether all admitted, and what each bucket held before;
-- a number says that it held something else.
if #KEYS == 1 then
  -- Most requests have one bucket, and need no lists.
  local value, alien = get(KEYS[1])
  local admits, next, tick, report
  if not alien then
    admits, next, tick, report = charge[string.sub(ARGV[1], 1, 1)](value, ARGV[1])
  end
  if admits == nil then return {now, 0, 0} end
  if next then keep(KEYS[1], next, tick) end
  return {now, admits and 1 or 0, report or value}
end
local seen, admits, next, ends = {}, {}, {}, {}
local all = true
for i = 1, #KEYS do
  local value, alien = get(KEYS[i])
  if not alien then
    local report
    admits[i], next[i], ends[i], report = charge[string.sub(ARGV[i], 1, 1)](value, ARGV[i])
    seen[i] = report or value
  end
  if admits[i] == nil then seen[i] = 0 end
  all = all and admits[i]
end
for i = 1, #KEYS do
  -- What a refusal keeps is only a mended value, which a clock that went back had left too far ahead.
  if next[i] and (all or admits[i] == false) then keep(KEYS[i], next[i], ends[i]) end
end
return {now, all and 1 or 0, unpack(seen, 1, #KEYS)}
