check "c" {
  data "kiln_echo" "a" {
    text = "x"
  }
  data "kiln_echo" "b" {
    text = "x"
  }
  assert {
    condition     = data.kiln_echo.a.text == "x"
    error_message = "m"
  }
}
