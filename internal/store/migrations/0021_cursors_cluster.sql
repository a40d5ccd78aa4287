{{distributed "cursors" "cityHash64(name)"}}
