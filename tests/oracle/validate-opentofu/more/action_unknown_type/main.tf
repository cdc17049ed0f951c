action "kiln_nope" "a" {
}
