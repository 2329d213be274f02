/* A Level Zero loader that does not exist: one driver with one GPU.
 *
 *   FAKE_IP      device IP as Level Zero packs it, decimal
 *   FAKE_VENDOR  PCI vendor number, decimal (default Intel's)
 *   FAKE_CODE    return code of the initialisation
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ip_version { uint32_t stype; void *next; uint32_t version; };

/* ze_device_properties_t of the Level Zero specification 1.x */
struct properties {
    uint32_t stype; void *next;
    uint32_t type, vendor_id, device_id, flags, subdevice_id, core_clock_rate;
    uint64_t max_mem_alloc_size;
    uint32_t max_hardware_contexts, max_command_queue_priority, threads_per_eu, simd_width,
        eus_per_subslice, subslices_per_slice, slices;
    uint64_t timer_resolution;
    uint32_t timestamp_bits, kernel_timestamp_bits;
    uint8_t uuid[16];
    char name[256];
};

static uint32_t number(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static int one(uint32_t *count, void **handles, size_t handle)
{
    if (handles)
        handles[0] = (void *)handle;
    *count = 1;
    return 0;
}

#ifndef OLD
int zeInitDrivers(uint32_t *count, void **drivers, void *description)
{
    (void)description;
    return number("FAKE_CODE", 0) ? (int)number("FAKE_CODE", 0) : one(count, drivers, 0x10);
}
#endif

int zeInit(uint32_t flags) { (void)flags; return (int)number("FAKE_CODE", 0); }

int zeDriverGet(uint32_t *count, void **drivers) { return one(count, drivers, 0x10); }

int zeDeviceGet(void *driver, uint32_t *count, void **devices)
{
    return driver == (void *)0x10 ? one(count, devices, 0x20) : 1;
}

int zeDeviceGetProperties(void *device, struct properties *properties)
{
    struct ip_version *version = properties->next;
    if (device != (void *)0x20 || properties->stype != 0x3 || version->stype != 0x1000f)
        return 1;
    properties->vendor_id = number("FAKE_VENDOR", 0x8086);
    properties->device_id = 0xabcd;
    strcpy(properties->name, "Fake Arc");
    version->version = number("FAKE_IP", 0);
    return 0;
}
