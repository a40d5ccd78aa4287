ALTER TABLE {{.Table}}{{.OnCluster}} DELETE WHERE {{.Where}}
