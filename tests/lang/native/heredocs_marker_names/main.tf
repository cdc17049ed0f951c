output "v" {
  value = [<<é
x
é
  , <<A-1
y
A-1
  , <<_
z
_
  ]
}
