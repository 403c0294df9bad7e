"""Calls every function of nvidia-ml-py once on every GPU of this node, and says as JSON what came of it.

Each function gets arguments that a program could give it. Its result on a GPU is what each C function that it called said
last, as the code's name without its prefix; under `python` what the binding could not make sense of. Functions that change or
end something come last, in LATE.
"""
import ctypes
import inspect
import json
import os
import re

import pynvml as n

NEVER = {
    # Helpers of the binding without a C function.
    "nvmlExceptionClass", "nvmlFriendlyObjectToStruct", "nvmlStructToFriendlyObject",
}
# In this order, after all others.
LATE = [
    "nvmlDeviceSetMigMode", "nvmlDeviceCreateGpuInstance", "nvmlDeviceCreateGpuInstanceWithPlacement",
    "nvmlGpuInstanceCreateComputeInstance", "nvmlGpuInstanceCreateComputeInstanceWithPlacement",
    "nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy",
    "nvmlDeviceModifyDrainState", "nvmlDeviceRemoveGpu", "nvmlDeviceDiscoverGpus",
]
# Asked of a MIG device where there is one.
OF_MIG_DEVICES = {
    "nvmlDeviceGetAttributes", "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetComputeInstanceId", "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceIsMigDeviceHandle",
}
LAST = ["nvmlInit", "nvmlInitWithFlags", "nvmlShutdown"]


class Anything(ctypes.Structure):
    """Room for any structure; its version is 0."""
    _fields_ = [("bytes", ctypes.c_ulonglong * 4096)]


class Missing(Exception):
    """What a function needs is not on this GPU."""


# Symbol and code of the C calls that the function under test made.
CALLS = {}


class Recorder:
    """A C function that writes down what it answers."""

    def __init__(self, name, function):
        self.__dict__.update(name=name, function=function)

    def __call__(self, *arguments):
        answer = self.function(*arguments)
        CALLS[self.name] = code(answer) if isinstance(answer, int) else "SUCCESS"
        return answer

    def __setattr__(self, name, value):
        setattr(self.function, name, value)


def recording(find):
    def look(name):
        try:
            return Recorder(name, find(name))
        except n.NVMLError as error:
            CALLS[name] = code(error.value)
            raise
    return look


n._nvmlGetFunctionPointer = recording(n._nvmlGetFunctionPointer)


def wait_v3():
    params = n.c_nvmlEventSetWait_v3_t()
    params.timeoutMs = 1
    return params


# The structure that a function fills, by the name of the parameter where it says enough, else by function.
STRUCTS = {
    "nvmlDeviceGetAdaptiveTgpModeInfo_v1": n.c_nvmlAdaptiveTgpModeInfo_v1_t,
    "nvmlDeviceGetBankRemapperStatus_v1": n.c_nvmlEccBankRemapperStatus_v1_t,
    "nvmlDeviceGetCapabilities": n.c_nvmlDeviceCapabilities_v1_t,
    "nvmlDeviceGetClockOffsets": lambda: versioned(n.c_nvmlClockOffset_t, 1),
    "nvmlDeviceSetClockOffsets": lambda: versioned(n.c_nvmlClockOffset_t, 1),
    "nvmlDeviceGetGpuFabricInfo": n.c_nvmlGpuFabricInfo_t,
    "nvmlDeviceGetGpuFabricInfoV": n.c_nvmlGpuFabricInfo_v3_t,
    "nvmlDeviceGetGpuFabricInfo_v4": n.c_nvmlGpuFabricInfo_v4_t,
    "nvmlDeviceGetMemoryLimits_v1": n.c_nvmlGetMemoryLimits_v1_t,
    "nvmlDeviceSetMemoryLimits_v1": n.c_nvmlSetMemoryLimits_v1_t,
    "nvmlDeviceGetNvLinkInfo": n.c_nvmlNvLinkInfo_v2_t,
    "nvmlDeviceGetNvLinkTelemetrySamples_v1": n.c_nvmlNvlinkTelemetrySamples_v1_t,
    "nvmlDeviceGetNvlinkBwMode": n.c_nvmlNvlinkGetBwMode_v1_t,
    "nvmlDeviceSetNvlinkBwMode": n.c_nvmlNvlinkSetBwMode_v1_t,
    "nvmlDeviceSetNvlinkBwModeAsync_v1": n.c_nvmlNvlinkSetBwModeAsync_v1_t,
    "nvmlDeviceGetNvlinkSupportedBwModes": n.c_nvmlNvlinkSupportedBwModes_v1_t,
    "nvmlDeviceGetPciInfoExt": lambda: versioned(n.nvmlPciInfoExt_v1_t, 1),
    "nvmlDeviceGetPlatformInfo": n.c_nvmlPlatformInfo_v2_t,
    "nvmlDeviceGetPowerMizerMode_v1": n.c_nvmlDevicePowerMizerModes_v1_t,
    "nvmlDeviceSetPowerMizerMode_v1": n.c_nvmlDevicePowerMizerModes_v1_t,
    "nvmlDeviceGetRemappedRows_v2": n.c_nvmlRemappedRowsInfo_v2_t,
    "nvmlDeviceGetSramEccErrorStatus": n.c_nvmlEccSramErrorStatus_v1_t,
    "nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts": n.c_nvmlEccSramUniqueUncorrectedErrorCounts_v1_t,
    "nvmlDevicePerfMetricsGetSamples_v1": n.c_nvmlPerfMetricsSamples_v1_t,
    "nvmlDeviceReadPRMCounters_v1": lambda: n.c_nvmlPRMCounterList_v1_t(1),
    "nvmlDeviceReadWritePRM_v1": n.c_nvmlPRMTLV_v1_t,
    "nvmlDeviceSetRusdSettings_v1": n.c_nvmlRusdSettings_v1_t,
    "nvmlDeviceSetConfComputeUnprotectedMemSize": lambda: 0,
    "nvmlDevicePowerSmoothingSetState": n.c_nvmlPowerSmoothingState_v1_t,
    "nvmlDevicePowerSmoothingActivatePresetProfile": n.c_nvmlPowerSmoothingProfile_v1_t,
    "nvmlDevicePowerSmoothingUpdatePresetProfileParam": n.c_nvmlPowerSmoothingProfile_v1_t,
    "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles": n.c_nvmlWorkloadPowerProfileCurrentProfiles_v1_t,
    "nvmlDeviceWorkloadPowerProfileGetProfilesInfo": n.c_nvmlWorkloadPowerProfileProfilesInfo_v1_t,
    "nvmlDeviceWorkloadPowerProfileSetRequestedProfiles": n.c_nvmlWorkloadPowerProfileRequestedProfiles_v1_t,
    "nvmlDeviceWorkloadPowerProfileClearRequestedProfiles": n.c_nvmlWorkloadPowerProfileRequestedProfiles_v1_t,
    "nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1": n.c_nvmlWorkloadPowerProfileUpdateProfiles_v1_t,
    "nvmlEventSetGetContextCount_v1": n.c_nvmlEventSetGetContextCount_v1_t,
    "nvmlEventSetGetContextData_v1": n.c_nvmlEventSetGetContextData_v1_t,
    "nvmlEventSetGetContextInfo_v1": n.c_nvmlEventSetGetContextInfo_v1_t,
    "nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1": n.c_nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1_t,
    "nvmlEventSetRegisterGpuOperationalEvents_v1": n.c_nvmlGpuOperationalEventConfig_v1_t,
    "nvmlEventSetWait_v3": wait_v3,
    "nvmlSystemGetConfComputeSettings": n.c_nvmlSystemConfComputeSettings_v1_t,
    "nvmlSystemGetCPER_v1": n.c_nvmlGetCPER_v1_t,
    "nvmlSetVgpuVersion": n.c_nvmlVgpuVersion_t,
    "nvmlGetVgpuCompatibility": Anything,
    "nvmlGpuInstanceGetActiveVgpus": lambda: versioned(n.c_nvmlActiveVgpuInstanceInfo_v1_t, 1),
    "nvmlGpuInstanceGetCreatableVgpus": lambda: versioned(n.c_nvmlVgpuTypeIdInfo_v1_t, 1),
    "nvmlGpuInstanceGetVgpuSchedulerLog": lambda: versioned(n.c_nvmlVgpuSchedulerLogInfo_v1_t, 1),
    "nvmlGpuInstanceGetVgpuSchedulerLog_v2": n.c_nvmlVgpuSchedulerLogInfo_v2_t,
    "nvmlGpuInstanceGetVgpuSchedulerState": lambda: versioned(n.c_nvmlVgpuSchedulerStateInfo_v1_t, 1),
    "nvmlGpuInstanceGetVgpuSchedulerState_v2": n.c_nvmlVgpuSchedulerStateInfo_v2_t,
    "nvmlGpuInstanceGetVgpuTypeCreatablePlacements": lambda: versioned(n.c_nvmlVgpuCreatablePlacementInfo_v1_t, 1),
    "nvmlGpuInstanceSetVgpuSchedulerState": lambda: versioned(n.c_nvmlVgpuSchedulerState_v1_t, 1),
    "nvmlGpuInstanceSetVgpuSchedulerState_v2": n.c_nvmlVgpuSchedulerState_v2_t,
    "nvmlDeviceGetVgpuSchedulerLog_v2": n.c_nvmlVgpuSchedulerLogInfo_v2_t,
    "nvmlDeviceGetVgpuSchedulerState_v2": n.c_nvmlVgpuSchedulerStateInfo_v2_t,
    "nvmlDeviceSetVgpuSchedulerState": n.c_nvmlVgpuSchedulerSetState_t,
    "nvmlDeviceSetVgpuSchedulerState_v2": n.c_nvmlVgpuSchedulerState_v2_t,
}
STRUCT_NAMES = {
    "info", "status", "caps", "gpuFabricInfo", "limits", "samples", "getBwMode", "setBwMode", "setBwModeAsync",
    "supportedBwModes", "c_info", "platformInfo", "counts", "settings", "params", "config", "cper", "currentProfiles",
    "profilesInfo", "requestedProfiles", "updateProfiles", "vgpuVersion", "vgpuMetadata", "pgpuMetadata",
    "c_vgpu_instance_info", "c_vgpus", "c_vgpu_sched_log_info", "c_vgpu_sched_log_info_v2", "c_vgpu_sched_state_info",
    "c_vgpu_sched_state_info_v2", "c_vgpu_placements", "sched_state", "sched_state_v2", "c_ccMemSize",
}
# Plain values by the parameter's name; all others are 0.
PLAIN = {
    "cpuSetSize": 2, "nodeSetSize": 2, "fieldIds": [n.NVML_FI_DEV_ECC_CURRENT], "c_nonce": [0] * 32, "timeoutms": 1, "timeoutMs": 1,
    "pid": os.getpid(), "control": n.c_nvmlNvLinkUtilizationControl_t() if hasattr(n, "c_nvmlNvLinkUtilizationControl_t") else Anything(), "hostname": "node", "eventTypes": n.nvmlEventTypeXidCriticalError, "level": 30, "engProfile": 0,
    "eventDataSize": 1, "l1threshold": 1,
}
BY_FUNCTION = {
    ("nvmlSystemRegisterEvents", "version"): lambda: n.nvmlSystemRegisterEventRequest_v1,
    ("nvmlSystemEventSetCreate", "version"): lambda: n.nvmlSystemEventSetCreateRequest_v1,
    ("nvmlSystemEventSetFree", "version"): lambda: n.nvmlSystemEventSetFreeRequest_v1,
    ("nvmlSystemEventSetWait", "version"): lambda: n.nvmlSystemEventSetWaitRequest_v1,
    ("nvmlSystemRegisterEvents", "eventTypes"): lambda: 1,
    ("nvmlDeviceGetRunningProcessDetailList", "version"): lambda: n.NVML_STRUCT_VERSION_PROCESS
        if hasattr(n, "NVML_STRUCT_VERSION_PROCESS") else struct_version(n.c_nvmlProcessDetailList_t, 1),
    ("nvmlErrorString", "result"): lambda: 0,
    ("nvmlDeviceGetHandleByUUIDV", "type"): lambda: 1,
    ("nvmlSystemEventSetWait", "eventData"): lambda: (n.c_nvmlSystemEventData_v1_t * 1)(),
}


def struct_version(structure, number):
    return ctypes.sizeof(structure) | number << 24


def versioned(structure, number):
    made = structure()
    made.version = struct_version(structure, number)
    return made


class Gpu:
    """What functions are called on: a GPU, and a GPU instance with a compute instance where there is one."""

    def __init__(self, index):
        self.index = index
        self.handle = n.nvmlDeviceGetHandleByIndex(index)
        self.name = n.nvmlDeviceGetName(self.handle)
        self.events = n.nvmlEventSetCreate()
        self.profile = None
        self.gi = self.ci = self.mig = None
        for number in range(18):
            try:
                profile = n.nvmlDeviceGetGpuInstanceProfileInfo(self.handle, number)
            except n.NVMLError:
                continue
            if self.profile is None or profile.sliceCount < self.profile.sliceCount:
                self.profile = profile

    def cut(self):
        """A GPU instance of the smallest profile with all its compute slices, for the functions of instances."""
        try:
            self.gi = n.nvmlDeviceCreateGpuInstance(self.handle, self.profile.id)
            self.ci = n.nvmlGpuInstanceCreateComputeInstance(self.gi, 0)
            self.mig = n.nvmlDeviceGetMigDeviceHandleByIndex(self.handle, 0)
        except (n.NVMLError, AttributeError):
            pass

    def value(self, function, parameter):
        name = parameter.name
        if (function, name) in BY_FUNCTION:
            return BY_FUNCTION[function, name]()
        if function.startswith("nvmlGpuInstanceGetComputeInstanceProfileInfo") and name == "device":
            return self.need(self.gi)
        if name in ("handle", "device", "device1", "device2", "handle1", "handle2"):
            return self.mig if self.mig and function in OF_MIG_DEVICES else self.handle
        if name == "migDevice":
            return self.need(self.mig)
        if name == "gpuInstance":
            return self.need(self.gi)
        if name == "computeInstance":
            return self.need(self.ci)
        if name == "gpuInstanceId":
            return self.need(self.gi) and n.nvmlGpuInstanceGetInfo(self.gi).id
        if name == "computeInstanceId":
            return self.need(self.ci) and n.nvmlComputeInstanceGetInfo(self.ci).id
        if name == "profileId":
            return 0 if function.startswith("nvmlGpuInstance") else self.profile.id if self.profile else 0
        if name == "profile" and "ProfileInfo" in function:
            return 0
        if name in ("eventSet",):
            return n.nvmlEventSetCreate() if function == "nvmlEventSetFree" else self.events
        if name == "setHandle":
            return n.nvmlSystemEventSetCreate(n.nvmlSystemEventSetCreateRequest_v1)
        if name == "uuid":
            return n.nvmlDeviceGetUUID(self.handle)
        if name == "pciBusId":
            return n.nvmlDeviceGetPciInfo(self.handle).busId
        if name == "serial":
            return n.nvmlDeviceGetSerial(self.handle)
        if name == "pciInfo":
            return n.nvmlDeviceGetPciInfo(self.handle)
        if name == "index" and function == "nvmlDeviceGetHandleByIndex":
            return self.index
        if name == "unit":
            return n.c_nvmlUnit_t()
        if name == "placement":
            return ctypes.byref(self.free_place() if "CreateGpuInstance" in function else n.c_nvmlComputeInstancePlacement_t(0, 1))
        if name in ("gpuInstancesRef", "computeInstancesRef"):
            return (ctypes.c_void_p * 32)()
        if name == "placementsRef":
            return (n.c_nvmlGpuInstancePlacement_t * 64)()
        if name == "countRef":
            return ctypes.byref(ctypes.c_uint(64))
        if name == "memoryClockMHz":
            return n.nvmlDeviceGetSupportedMemoryClocks(self.handle)[0]
        if name in ("limit", "powerLimit"):
            return n.nvmlDeviceGetPowerManagementDefaultLimit(self.handle)
        if name in ("maxMemClockMHz", "minMemClockMHz"):
            return n.nvmlDeviceGetMaxClockInfo(self.handle, n.NVML_CLOCK_MEM)
        if name in ("maxGraphicsClockMHz", "minGpuClockMHz", "maxGpuClockMHz"):
            return n.nvmlDeviceGetMaxClockInfo(self.handle, n.NVML_CLOCK_GRAPHICS)
        if name == "gpmSample":
            return n.nvmlGpmSampleAlloc()
        if name == "metricsGet":
            metrics = n.c_nvmlGpmMetricsGet_t()
            metrics.version = n.NVML_GPM_METRICS_GET_VERSION
            metrics.numMetrics = 1
            metrics.metrics[0].metricId = 1
            metrics.sample1, metrics.sample2 = n.nvmlGpmSampleAlloc(), n.nvmlGpmSampleAlloc()
            for sample in (metrics.sample1, metrics.sample2):
                n.nvmlGpmSampleGet(self.handle, sample)
            return metrics
        if name in STRUCT_NAMES or function in STRUCTS and name in ("profile", "state"):
            made = STRUCTS.get(function, Anything)()
            by_itself = "byref(%s)" % name in inspect.getsource(getattr(n, function))
            return made if by_itself or isinstance(made, int) else ctypes.byref(made)
        if name in PLAIN:
            return PLAIN[name]
        return 0

    def need(self, thing):
        if thing is None:
            raise Missing
        return thing

    def call(self, function):
        """What each C function behind it said last, or None where this GPU has not what it needs."""
        if function.startswith("nvmlGpuInstanceCreateComputeInstance") or function == "nvmlGpuInstanceDestroy":
            self.empty()
        if function == "nvmlComputeInstanceDestroy" and self.gi:
            self.ci = n.nvmlGpuInstanceGetComputeInstanceById(self.gi, 0)
        made = getattr(n, function)
        required = [p for p in inspect.signature(made).parameters.values() if p.default is p.empty]
        CALLS.clear()
        try:
            arguments = [self.value(function, p) for p in required]
        except Missing:
            return None
        except n.NVMLError:
            # What an argument is made of cannot be had here, and that call has said why.
            return dict(CALLS)
        CALLS.clear()
        try:
            made(*arguments)
        except n.NVMLError as error:
            if not CALLS:
                return {"python": str(error)}
        except Exception as error:
            return {"python": "%s: %s" % (type(error).__name__, error)}
        return dict(CALLS)

    def free_place(self):
        """A placement of the smallest profile that no GPU instance is in the way of."""
        places, count, taken = (n.c_nvmlGpuInstancePlacement_t * 64)(), ctypes.c_uint(64), []
        n.nvmlDeviceGetGpuInstancePossiblePlacements(self.handle, self.profile.id if self.profile else 0, places, ctypes.byref(count))
        for number in range(15):
            try:
                taken.append(n.nvmlGpuInstanceGetInfo(n.nvmlDeviceGetGpuInstanceById(self.handle, number)).placement)
            except n.NVMLError:
                pass
        for place in places[:count.value]:
            if all(place.start + place.size <= t.start or t.start + t.size <= place.start for t in taken):
                return place
        raise Missing

    def empty(self):
        """Takes the compute instance out of the GPU instance, so that there is room for one."""
        try:
            while True:
                n.nvmlComputeInstanceDestroy(n.nvmlGpuInstanceGetComputeInstanceById(self.need(self.gi), 0))
        except (n.NVMLError, Missing):
            pass


def code(value):
    if value == 0:
        return "SUCCESS"
    for name in dir(n):
        if name.startswith("NVML_ERROR_") and getattr(n, name) == value:
            return name[len("NVML_ERROR_"):]
    return str(value)


def main():
    functions = sorted(f for f in dir(n) if f.startswith("nvml") and inspect.isfunction(getattr(n, f)))
    functions = [f for f in functions if f not in NEVER]
    first = [f for f in functions if f not in LATE and f not in LAST]
    n.nvmlInit()
    results = {f: {} for f in functions}
    for index in range(n.nvmlDeviceGetCount()):
        gpu = Gpu(index)
        gpu.cut()
        name = gpu.name + (" (MIG)" if gpu.mig else "")
        for function in first + LATE:
            result = gpu.call(function)
            if result is not None:
                results[function][name] = result
    for function in LAST:
        CALLS.clear()
        getattr(n, function)(*([0] if function == "nvmlInitWithFlags" else []))
        results[function]["node"] = dict(CALLS)
    print(json.dumps(results))


main()
