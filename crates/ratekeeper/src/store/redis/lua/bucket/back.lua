-- Figures: what to give back and what to charge beyond; what was held and when it would have drained;
-- a full bucket; parts of a tick; and 1 if only the last turn can be given back.
back.b = function(value, arg)
  local give, give_part, over, over_part, held, held_part, at, at_part, full, full_part, drain, last =
    struct.unpack('<I8I8I8I8I8I8I8I8I8I8I8I8', arg, 2)
  local tick, tick_part = bucket_read(value, drain)
  if not tick then return end
  local ahead, part = bucket_ahead(tick, tick_part, full, full_part, drain)
  if over > 0 or over_part > 0 then
    local most, most_part = bucket_most(full, full_part, drain)
    if most < ahead or (most == ahead and most_part < part) then most, most_part = ahead, part end
    ahead, part = ahead + over, part + over_part
    if part >= drain then ahead, part = ahead + 1, part - drain end
    if ahead > most or (ahead == most and part > most_part) then ahead, part = most, most_part end
  elseif last == 0 or (tick == at and tick_part == at_part) then
    local left, left_part = at - now, at_part
    if left < 0 then left, left_part = 0, 0 end
    local function at_most(most, most_part)
      if give > most or (give == most and give_part > most_part) then give, give_part = most, most_part end
    end
    at_most(held, held_part)
    at_most(left, left_part)
    at_most(ahead, part)
    ahead, part = ahead - give, part - give_part
    if part < 0 then ahead, part = ahead - 1, part + drain end
  end
  if ahead == 0 and part == 0 then return true end
  return true, bucket_next(ahead, part)
end
