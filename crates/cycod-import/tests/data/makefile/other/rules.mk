hello:
	echo hello
