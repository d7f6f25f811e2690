{{- define "vouchbox.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "vouchbox.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- /* The labels of all objects in the release. */ -}}
{{- define "vouchbox.labels" -}}
app.kubernetes.io/name: vouchbox
app.kubernetes.io/instance: {{ include "vouchbox.name" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* Selects the pods of one component: api, executor or signer. Takes a dict with the root and the component. */ -}}
{{- define "vouchbox.selector" -}}
app.kubernetes.io/name: vouchbox
app.kubernetes.io/instance: {{ include "vouchbox.name" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "vouchbox.metadata" -}}
name: {{ include "vouchbox.name" .root }}-{{ .component }}
labels:
  {{- include "vouchbox.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
{{- end -}}
