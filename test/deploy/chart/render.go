// Renders a chart as Helm does, where Helm itself is not installed. Uses Go's own templates and, like Helm, the functions
// of sprig. Adds `include`, `required` and `toYaml`, but no subcharts, no `lookup` and no `tpl`.
//
//	render CHART RELEASE [VALUES.yaml]
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type tree = map[string]interface{}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) tree {
	text, err := os.ReadFile(path)
	check(err)
	values := tree{}
	check(yaml.Unmarshal(text, &values))
	// Helm reads YAML as JSON, so every number is a float64.
	asJson, err := json.Marshal(values)
	check(err)
	read := tree{}
	check(json.Unmarshal(asJson, &read))
	return read
}

// Merges two trees, inner trees too. Any other value of the second replaces the value that the first has under the same name.
func merge(values, over tree) tree {
	for name, value := range over {
		inner, isTree := value.(tree)
		own, wasTree := values[name].(tree)
		if isTree && wasTree {
			values[name] = merge(own, inner)
		} else {
			values[name] = value
		}
	}
	return values
}

func toYaml(value interface{}) (string, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

func main() {
	chart, release := os.Args[1], os.Args[2]
	values := read(filepath.Join(chart, "values.yaml"))
	if len(os.Args) > 3 {
		values = merge(values, read(os.Args[3]))
	}
	about := read(filepath.Join(chart, "Chart.yaml"))
	root := template.New("chart").Option("missingkey=zero").Funcs(sprig.TxtFuncMap())
	root.Funcs(template.FuncMap{
		"toYaml": toYaml,
		"include": func(name string, data interface{}) (string, error) {
			var text bytes.Buffer
			err := root.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
		"required": func(message string, value interface{}) (interface{}, error) {
			if value == nil || value == "" {
				return nil, errors.New(message)
			}
			return value, nil
		},
	})
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		_, err = root.New(filepath.Base(path)).Parse(string(text))
		check(err)
	}
	data := tree{
		"Values":  values,
		"Release": tree{"Name": release, "Service": "Helm"},
		"Chart":   tree{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	for _, path := range paths {
		if name := filepath.Base(path); !strings.HasPrefix(name, "_") {
			var text bytes.Buffer
			check(root.ExecuteTemplate(&text, name, data))
			fmt.Printf("---\n%s\n", text.String())
		}
	}
}
