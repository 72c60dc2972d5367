-- Figures: what the cost takes to drain, what a full bucket takes, parts of a tick, and the longest
-- wait for a turn; the largest number there is where nobody waits.
-- Requests that came together have the same, mostly.
local known = {}
charge.b = function(value, arg)
  local f = known[arg]
  if not f then
    f = {struct.unpack('<I8I8I8I8I8I8', arg, 2)}
    known[arg] = f
  end
  local cost, cost_part, full, full_part, drain, wait = f[1], f[2], f[3], f[4], f[5], f[6]
  local tick, part = bucket_read(value, drain)
  if not tick then return end
  if cost == 0 and cost_part == 0 then return true end
  local ahead, mended
  ahead, part, mended = bucket_ahead(tick, part, full, full_part, drain)
  if mended then return false, bucket_next(ahead, part) end
  local delay = part > 0 and ahead + 1 or ahead
  if delay > wait then return false end
  ahead, part = ahead + cost, part + cost_part
  if part >= drain then ahead, part = ahead + 1, part - drain end
  if ahead > full or (ahead == full and part > full_part) then return false end
  if wait < 9007199254740991 and delay > turn then turn = delay end
  return true, bucket_next(ahead, part)
end
