-- A bucket to be forgotten, or a record to be taken out. Reports what it held.
back.x = function(value)
  return value and true or false, nil, nil, value
end
