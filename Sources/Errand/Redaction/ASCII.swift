// Bytes and letters of ASCII, as headers, URLs and secrets are compared.

extension UInt8 {
    /// The letter in lower case; any other byte as it is.
    var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

extension String.UTF8View {
    /// `allSatisfy` over contiguous storage, which is several times as fast: every header of every request is checked
    /// with it.
    func all(_ isFine: (UInt8) -> Bool) -> Bool {
        withContiguousStorageIfAvailable { $0.allSatisfy(isFine) } ?? allSatisfy(isFine)
    }
}
