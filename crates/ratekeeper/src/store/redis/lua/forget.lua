-- A bucket to be forgotten, or a record that was used: 1 if it was there.
back.x = function(value)
  return value and true or false, nil, nil, false
end
