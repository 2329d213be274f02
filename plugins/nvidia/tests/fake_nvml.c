/* A driver that does not exist: the few calls of NVML and libcuda that the plugin makes.
 *
 * One object serves as libnvidia-ml.so.1 and as libcuda.so.1. What it answers comes from
 * environment variables:
 *
 *   FAKE_INIT          return code of nvmlInitWithFlags
 *   FAKE_COUNT         number of GPUs (default 1)
 *   FAKE_COUNT_CODE    return code of nvmlDeviceGetCount
 *   FAKE_CUDA          CUDA version by NVML, 12080
 *   FAKE_CUDA_CODE     return code of nvmlSystemGetCudaDriverVersion_v2
 *   FAKE_LIBCUDA       CUDA version by libcuda (default: as FAKE_CUDA)
 *   FAKE_LIBCUDA_CODE  return code of cuDriverGetVersion
 *   FAKE_CAPABILITY    "9.0 7.0": one for each GPU, the last one for the rest
 *   FAKE_CAPABILITY_CODE  return code of nvmlDeviceGetCudaComputeCapability
 *   FAKE_HANDLE_CODE   return code of nvmlDeviceGetHandleByIndex
 *   FAKE_MIG           1: every GPU is in MIG mode
 *   FAKE_SLEEP         seconds that nvmlInitWithFlags takes
 *   FAKE_ABORT         set: nvmlInitWithFlags ends the process
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

int nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    if (getenv("FAKE_ABORT"))
        abort();
    sleep((unsigned int)number("FAKE_SLEEP", 0));
    return number("FAKE_INIT", 0);
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) { return 0; }

const char *nvmlErrorString(int code)
{
    switch (code) {
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 9: return "Driver Not Loaded";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    snprintf(version, length, "570.86.15");
    return 0;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = number("FAKE_CUDA", 12080);
    return number("FAKE_CUDA_CODE", 0);
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = number("FAKE_CUDA", 12080);
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = (unsigned int)number("FAKE_COUNT", 1);
    return number("FAKE_COUNT_CODE", 0);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle)
{
    *handle = (void *)(size_t)(index + 1);
    return number("FAKE_HANDLE_CODE", 0);
}

int nvmlDeviceGetName(void *handle, char *name, unsigned int length)
{
    snprintf(name, length, "Fake GPU %d", (int)(size_t)handle - 1);
    return 0;
}

int nvmlDeviceGetMigMode(void *handle, unsigned int *current, unsigned int *pending)
{
    (void)handle;
    *current = *pending = (unsigned int)number("FAKE_MIG", 0);
    return getenv("FAKE_MIG") ? 0 : 3;
}

int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor)
{
    const char *text = getenv("FAKE_CAPABILITY");
    size_t left = (size_t)handle - 1;
    if (!text)
        text = "9.0";
    while (left-- && strchr(text, ' '))
        text = strchr(text, ' ') + 1;
    if (sscanf(text, "%d.%d", major, minor) != 2)
        return 999;
    return number("FAKE_CAPABILITY_CODE", 0);
}

int cuDriverGetVersion(int *version)
{
    *version = number("FAKE_LIBCUDA", number("FAKE_CUDA", 12080));
    return number("FAKE_LIBCUDA_CODE", 0);
}
