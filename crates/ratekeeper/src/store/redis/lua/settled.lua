-- What a count is after a charge of `held` in it was settled at `used`: what was used beyond is
-- charged, up to twice the amount.
local function settled(count, held, used, amount)
  if used < held then return math.max(0, count - (held - used)) end
  return math.max(count, math.min(count + used - held, 2 * amount))
end
