@quota
Feature: Quotas that nobody can have meant
  What the API server refuses, with its words, and what it takes although it means something else. The cluster goes on serving
  claims beside it.

  Background:
    Given a node with 1 "A100-SXM4-40GB"

  Scenario: limits that are negative, broken or beyond any integer are refused
    When this manifest is tried:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: negative}
      spec: {hard: {gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "-1"}}
      """
    Then the API server refuses it, saying "must be greater than or equal to 0"
    When this manifest is tried:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: fraction}
      spec: {hard: {gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "1.5"}}
      """
    Then the API server refuses it, saying "must be an integer"
    When this manifest is tried:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: beyond}
      spec: {hard: {gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "99999999999999999999"}}
      """
    Then the API server refuses it, saying "must be an integer"
    When a pod claims a whole card
    Then pod "pod-1" runs

  @needs:DRAExtendedResource @needs:kubernetes-1.35
  Scenario: a fraction of an extended resource is taken, and what is behind the point counts for nothing
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: one-and-a-half}
      spec: {hard: {requests.deviceclass.resource.kubernetes.io/gpu.nvidia.com: "1.5"}}
      """
    Then quota "one-and-a-half" counts "0" of "requests.deviceclass.resource.kubernetes.io/gpu.nvidia.com"
    When a pod claims a whole card
    Then pod "pod-1" runs
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: second}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
      """
    Then the API server refuses it, saying "limited: requests.deviceclass.resource.kubernetes.io/gpu.nvidia.com=1500m"
    And quotas and claims agree

  Scenario: the largest integer is no limit, and a quota on a class that is not there limits nothing that can be had
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: odd}
      spec:
        hard:
          gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "9223372036854775807"
          gpu.nvidia.con.deviceclass.resource.k8s.io/devices: "0"
      """
    Then quota "odd" counts "0" of "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    When a pod claims a whole card
    Then pod "pod-1" runs
    And quota "odd" counts "1" of "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    And quotas and claims agree
    When this manifest is tried:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: misspelt}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.con}}]}}
      """
    Then the API server refuses it, saying "exceeded quota: odd, requested: gpu.nvidia.con.deviceclass.resource.k8s.io/devices=1"
