/* device.cpp - the one device of a driver: compiled into the stub CUDA runtime where there is one, into the driver otherwise. */
#include "device.h"

extern "C"
{
  oracle::Device oracle_device;
}
