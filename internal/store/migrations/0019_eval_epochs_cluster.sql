{{distributed "eval_epochs" "cityHash64(instance, ts)"}}
