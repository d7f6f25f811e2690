{{- /* What the pods of all components have in common. Each takes a dict with the root and the component. */ -}}

{{- define "vouchbox.podMetadata" -}}
{{- $own := index .root.Values .component -}}
labels:
  {{- include "vouchbox.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  {{- with $own.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  # A pod is replaced when its settings change.
  checksum/settings: {{ toYaml .root.Values.settings | sha256sum }}
  {{- with $own.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "vouchbox.podStart" -}}
{{- $own := index .root.Values .component -}}
serviceAccountName: {{ include "vouchbox.name" .root }}
automountServiceAccountToken: false
# Variables that begin with SERVICE_ are settings: the cluster must add none.
enableServiceLinks: false
terminationGracePeriodSeconds: {{ add .root.Values.drainSeconds 30 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "vouchbox.selector" $ | nindent 8 }}
  {{- end }}
{{- end -}}

{{- define "vouchbox.environment" -}}
- name: SERVICE_ROLES
  value: {{ .component }}
- name: SERVICE_HOST
  value: "0.0.0.0"
- name: SERVICE_PORT
  value: "8080"
- name: SERVICE_DATA_DIR
  value: /var/lib/vouchbox/data
- name: SERVICE_DRAIN_SECONDS
  value: {{ .root.Values.drainSeconds | quote }}
- name: CREDENTIALS_DIRECTORY
  value: /etc/vouchbox/secrets
{{- range $name, $value := .root.Values.settings }}
- name: {{ $name }}
  value: {{ if kindIs "string" $value }}{{ $value | quote }}{{ else }}{{ $value | toJson | quote }}{{ end }}
{{- end }}
{{- end -}}

{{- define "vouchbox.startAndLife" -}}
# A slow machine needs some time to try the languages before the service listens, and a start waits a minute for its database.
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 2
  failureThreshold: 120
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- define "vouchbox.secrets" -}}
{{- /* `mode` is the mode of the files, which the kubelet gives to root and to the pod's group. */ -}}
- name: secrets
  projected:
    defaultMode: {{ .mode }}
    sources:
      - secret:
          name: {{ required "database.existingSecret names the Secret with SERVICE_DATABASE_URL" .root.Values.database.existingSecret }}
          items:
            - key: SERVICE_DATABASE_URL
              path: SERVICE_DATABASE_URL
      {{- with .root.Values.secretSettings.existingSecret }}
      - secret:
          name: {{ . }}
      {{- end }}
{{- end -}}
