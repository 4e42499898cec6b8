{{/* The image of a program, pinned by its digest: list . "agent" */}}
{{- define "plimsoll.image" -}}
{{- $image := (index . 0).Values.image -}}
{{- $name := index . 1 -}}
{{ $image.registry }}/plimsoll-{{ $name }}:{{ $image.tag }}
{{- with index $image.digests $name }}@{{ . }}{{ end }}
{{- end }}

{{/* A Job cannot be changed: with other values it gets another name. */}}
{{- define "plimsoll.certificatesJob" -}}
@JOB@
{{- $made := list .Values.image .Values.certificates.resources | toJson | sha256sum | trunc 8 -}}
{{- if ne $made "@JOB_SETTINGS@" }}-{{ $made }}{{ end }}
{{- end }}
