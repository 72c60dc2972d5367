-- What comes back to buckets, or is charged to them without asking. KEYS[i] is a bucket, ARGV[i] its
-- kind and figures. A kind's part returns nothing if the value is not one of ours; else whether there
-- was anything to do, the value and the tick until which it matters, or no value if the bucket is
-- whole, and what to report instead. Answers with the time and, for each bucket, whether something was
-- done and what it holds now; a number says that it holds something else.
local answer = {now}
for i = 1, #KEYS do
  local value, alien = get(KEYS[i])
  local done, next, tick, report
  if not alien then
    done, next, tick, report = back[string.sub(ARGV[i], 1, 1)](value, ARGV[i])
  end
  local now_held = value or false
  if done and next then
    keep(KEYS[i], next, tick)
    now_held = next
  elseif done then
    if value then redis.call('DEL', KEYS[i]) end
    now_held = false
  end
  if done == nil then now_held = 0 end
  answer[2 * i], answer[2 * i + 1] = done and 1 or 0, report or now_held
end
return answer
