{{- define "vouchbox.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "vouchbox.selector" -}}
app.kubernetes.io/name: vouchbox
app.kubernetes.io/instance: {{ include "vouchbox.name" . }}
{{- end -}}

{{- define "vouchbox.labels" -}}
{{ include "vouchbox.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "vouchbox.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
