-- A bucket that is brought over from its former name, unless it is there: until when, and what.
back.m = function(value, arg)
  if value then return false end
  local tick = struct.unpack('<I8', arg, 2)
  return true, string.sub(arg, 10), tick
end
