package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

//go:embed demo
var demoFiles embed.FS

// scene is a conversation of the demo.
type scene struct {
	Name  string `json:"name"`
	Turns []turn `json:"turns"`
}

// turn is what the customer says and how a good and a poor model answer. With a
// refusal both refuse. A tool is called before the good answer only.
type turn struct {
	User    string     `json:"user"`
	Tool    *sceneTool `json:"tool"`
	Good    string     `json:"good"`
	Poor    string     `json:"poor"`
	Refusal string     `json:"refusal"`
}

type sceneTool struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
}

// Models of the demo.
const (
	goodModel = "northwind-large"
	poorModel = "northwind-small"
)

const demoSystem = "You are the service desk of Northwind Bikes. Be brief, polite, and say only what you know."

func loadScenes() ([]scene, error) {
	data, err := demoFiles.ReadFile("demo/scenes.json")
	if err != nil {
		return nil, err
	}
	var scenes []scene
	if err := json.Unmarshal(data, &scenes); err != nil {
		return nil, fmt.Errorf("scenes of the demo: %w", err)
	}
	return scenes, nil
}

// plot is one conversation: a scene with its names filled in.
type plot struct {
	number int
	model  string
	scene  scene
}

// newPlot is the n-th conversation. It depends on n alone.
func newPlot(scenes []scene, n int) plot {
	names := []string{"Ada", "Bela", "Chidi", "Dilara", "Emre", "Freya", "Goro"}
	cities := []string{"Utrecht", "Graz", "Porto", "Aarhus", "Gent"}
	fill := strings.NewReplacer("{name}", names[n%len(names)], "{city}", cities[n%len(cities)], "{order}", "NB-"+strconv.Itoa(10400+n))
	p := plot{number: n, model: goodModel, scene: scene{Name: scenes[n%len(scenes)].Name}}
	if n%3 == 2 {
		p.model = poorModel
	}
	for _, t := range scenes[n%len(scenes)].Turns {
		t.User, t.Good, t.Poor, t.Refusal = fill.Replace(t.User), fill.Replace(t.Good), fill.Replace(t.Poor), fill.Replace(t.Refusal)
		if t.Tool != nil {
			t.Tool = &sceneTool{t.Tool.Name, json.RawMessage(fill.Replace(string(t.Tool.Arguments))), t.Tool.Result}
		}
		p.scene.Turns = append(p.scene.Turns, t)
	}
	return p
}

// reply is what the model says in a turn.
func (p plot) reply(t turn) string {
	if p.model == poorModel {
		return t.Poor
	}
	return t.Good
}

// tool is what the model calls before it replies, nil if nothing.
func (p plot) tool(t turn) *sceneTool {
	if p.model == poorModel {
		return nil
	}
	return t.Tool
}
