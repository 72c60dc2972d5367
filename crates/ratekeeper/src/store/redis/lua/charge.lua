-- Charges requests that came together, one after the other, each all of its buckets, or none if one refuses.
-- ARGV[1] says of how many buckets each request is, in two bytes. KEYS[i] is a bucket, ARGV[i + 1] its kind and
-- figures; nothing if they are those before. A kind's charge returns nothing if the value is not one of ours;
-- else whether it admits, and if there is something to keep, the value, the tick until which it matters, and
-- what to report instead of the former value. Answers with the time and, for each request, whether all
-- admitted, and what each bucket held before; a number says that it held something else.
local last
-- Charges a bucket; or, where '+' stands before three charges, one share if the first would be admitted, which
-- is more, else the last. Whether a share was taken comes after the rest.
local function ask(value, arg)
  if arg == '' then arg = last else last = arg end
  local kind = string.sub(arg, 1, 1)
  if kind ~= '+' then return charge[kind](value, arg) end
  local size = (#arg - 1) / 3
  kind = string.sub(arg, 2, 2)
  if charge[kind](value, string.sub(arg, 2, size + 1)) then
    local admits, next, tick, report = charge[kind](value, string.sub(arg, size + 2, 2 * size + 1))
    return admits, next, tick, report, true
  end
  return charge[kind](value, string.sub(arg, 2 * size + 2))
end
-- What all buckets hold, at once; one that seems to hold nothing may hold something else, and is asked for by itself.
local held, names = {}, {}
for i = 1, #KEYS do
  if held[KEYS[i]] == nil then
    held[KEYS[i]] = false
    names[#names + 1] = KEYS[i]
  end
end
for i, value in ipairs(redis.call('MGET', unpack(names))) do held[names[i]] = value end
local function value_of(key)
  local value = held[key]
  if value then return value end
  return get(key)
end
local function put(key, value, tick)
  held[key] = value
  keep(key, value, tick)
end
local answer, place, at = {now}, 2, 0
for i = 1, #ARGV[1], 2 do
  local high, low = string.byte(ARGV[1], i, i + 1)
  local size = 256 * high + low
  turn = 0
  if size == 1 then
    -- Most requests have one bucket, and need no lists.
    at = at + 1
    local value, alien = value_of(KEYS[at])
    local admits, next, tick, report, share
    if not alien then admits, next, tick, report, share = ask(value, ARGV[at + 1]) end
    if next then put(KEYS[at], next, tick) end
    answer[place] = admits and (share and 3 or 1) or 0
    answer[place + 1] = admits == nil and 0 or report or value
    place = place + 2
  else
    local admits, next, ends, shares, all = {}, {}, {}, 0, true
    for j = 1, size do
      local value, alien = value_of(KEYS[at + j])
      local report, share
      if not alien then admits[j], next[j], ends[j], report, share = ask(value, ARGV[at + j + 1]) end
      if share then shares = shares + 2 ^ j end
      answer[place + j] = admits[j] == nil and 0 or report or value
      all = all and admits[j]
    end
    for j = 1, size do
      -- What a refusal keeps is only a mended value, which a clock that went back had left too far ahead.
      if next[j] and (all or admits[j] == false) then put(KEYS[at + j], next[j], ends[j]) end
    end
    answer[place] = all and 1 + shares or 0
    at, place = at + size, place + size + 1
  end
end
return answer
