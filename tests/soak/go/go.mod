module soak

go 1.24
